# Hashes, sorting by a block, regular expressions, sprintf, recursion, objects.
use strict;
use warnings;

package Counter;
sub new { my ($class, $step) = @_; return bless {count => 0, step => $step}, $class; }
sub add { my $self = shift; return $self->{count} += $self->{step}; }

package main;

sub ackermann {
    my ($m, $n) = @_;
    no warnings 'recursion';
    return $n + 1 if $m == 0;
    return ackermann($m - 1, 1) if $n == 0;
    return ackermann($m - 1, ackermann($m, $n - 1));
}

for my $round (1 .. $ARGV[0]) {
    my %words;
    $words{"key" . ($_ * 7919 % 10007)} .= sprintf("%x,", $_) for 1 .. 20000;
    my @sorted = sort { length $words{$a} <=> length $words{$b} or $a cmp $b } keys %words;
    my $text = join ";", map { "$_=$words{$_}" } @sorted;
    my $swapped = 0;
    ++$swapped while $text =~ /key(\d+)=([0-9a-f]+),/g;
    $text =~ s/(\w)(\d)/$2$1/g;
    my $counter = Counter->new($round);
    $counter->add for 1 .. 20000;
    ackermann(2, 60);
    my @fields = map { [split /,/] } split /;/, $text;
}
