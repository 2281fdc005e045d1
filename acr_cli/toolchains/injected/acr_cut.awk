# Copies a report, and of its lines of mere output (those that `mere` matches) no more than 16 MB.
$0 ~ mere { size += length($0); if (size > 16000000) next; if (length($0) > 20000) next }
{ print; fflush() }
