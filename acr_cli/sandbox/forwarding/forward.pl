# The same as forward.py beside it, for images that have no Python: every Debian has this Perl.
use strict;
use warnings;
use Socket;
use Fcntl;
use Errno qw(EAGAIN EINTR);

$SIG{PIPE} = 'IGNORE';
my $most = 64 << 20;
socket(my $listener, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
bind($listener, sockaddr_in($ARGV[0], INADDR_LOOPBACK)) or die "bind: $!";
listen($listener, 128) or die "listen: $!";
my (%ends, %waiting, %reading, %writing);
my ($received, $number) = ('', 0);

sub say_it {
    my ($which, $data) = @_;
    $data = pack('NN', $which, length $data) . $data;
    while (length $data) {
        my $written = syswrite(STDOUT, $data);
        if (defined $written) { substr($data, 0, $written, ''); }
        elsif (!$!{EINTR}) { exit 1; }
    }
}

sub take {
    while (length($received) >= 8) {
        my ($which, $length) = unpack('NN', $received);
        return if length($received) < 8 + $length;
        if ($writing{$which}) {
            $waiting{$which} .= substr($received, 8, $length);
            delete $writing{$which} unless $length;
        }
        substr($received, 0, 8 + $length, '');
    }
}

sub broken {
    my ($which) = @_;
    say_it($which, '') if $reading{$which};
    delete $reading{$which};
    delete $writing{$which};
    $waiting{$which} = '';
}

sub serve {
    my ($which, $ready) = @_;
    my $end = $ends{$which};
    if ($reading{$which} && vec($ready, fileno($end), 1)) {
        my $count = sysread($end, my $data, 1 << 16);
        if (defined $count) {
            say_it($which, $data);
            delete $reading{$which} unless $count;
        } elsif (!$!{EAGAIN} && !$!{EINTR}) {
            broken($which);
        }
    }
    if (length $waiting{$which}) {
        my $count = syswrite($end, $waiting{$which});
        if (defined $count) { substr($waiting{$which}, 0, $count, ''); }
        elsif (!$!{EAGAIN} && !$!{EINTR}) { broken($which); }
    }
    return if $writing{$which} || length $waiting{$which};
    shutdown($end, 1);
    return if $reading{$which};
    close(delete $ends{$which});
    delete $waiting{$which};
}

say_it(0, 'ready');
while (1) {
    my ($in, $out, $total) = ('', '', 0);
    vec($in, fileno($listener), 1) = 1;
    vec($in, fileno($ends{$_}), 1) = 1 for keys %reading;
    for (keys %ends) {
        next unless length $waiting{$_};
        vec($out, fileno($ends{$_}), 1) = 1;
        $total += length $waiting{$_};
    }
    vec($in, 0, 1) = 1 if $total < $most;
    next if select($in, $out, undef, undef) < 0;
    if (vec($in, 0, 1)) {
        my $count = sysread(STDIN, $received, 1 << 16, length $received);
        last unless $count;
        take();
    }
    if (vec($in, fileno($listener), 1) && accept(my $end, $listener)) {
        fcntl($end, F_SETFL, fcntl($end, F_GETFL, 0) | O_NONBLOCK);
        $number++;
        $ends{$number} = $end;
        $waiting{$number} = '';
        $reading{$number} = $writing{$number} = 1;
    }
    serve($_, $in) for keys %ends;
}
