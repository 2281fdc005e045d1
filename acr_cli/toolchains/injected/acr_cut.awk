# Copies a report, and of its lines of mere output (those that `mere` matches) no more than 16 MB; short lines that
# `kept` matches are copied however much was printed before them.
kept != "" && length($0) < 1000 && $0 ~ kept { print; fflush(); next }
$0 ~ mere { size += length($0); if (size > 16000000) next; if (length($0) > 20000) next }
{ print; fflush() }
