-- ARGV: '1' to move it on.
if ARGV[1] == '1' then return advance() end
return known_revision()
