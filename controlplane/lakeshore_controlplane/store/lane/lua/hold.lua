-- ARGV: until, then ids. A renewal finds all of them held, and looks no further.
local ids = {}
for i = 2, #ARGV do
  ids[i - 1] = ARGV[i]
end
if hold(ids, ARGV[1]) > 0 then
  displace(ids)
  advance()
end
