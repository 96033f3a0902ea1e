-- ARGV: ids. What ended was held as a rule; only where some were not are they looked up.
if in_chunks('ZREM', HELD, ARGV) < #ARGV then displace(ARGV) end
advance()
