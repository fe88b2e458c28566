-- Callbacks from C, coroutines, errors, metamethods, collection.
local loads = {
  function() return (("the quick brown fox "):rep(200):gsub("(%w+) (%w+)", function(a, b) return b .. " " .. a end)) end,
  function() local t = {} for i = 1, 2000 do t[i] = (i * 7919) % 2003 end table.sort(t, function(a, b) return a > b end) end,
  function() local co = coroutine.wrap(function() for i = 1, 500 do coroutine.yield(i) end end) for _ = 1, 500 do co() end end,
  function() local function f(n) if n == 0 then error("deep") end return f(n - 1) + 1 end pcall(f, 150) end,
  function() local v = setmetatable({}, {__index = function(_, k) return k * 2 end}) local s = 0 for i = 1, 5000 do s = s + v[i] end end,
  function() for i = 1, 2000 do local _ = {i, tostring(i), {i}} end collectgarbage() end,
  function() local f = load("local s = 0 for i = 1, 1000 do s = s + i % 7 end return s") f() end,
  function() local s = {} for i = 1, 500 do s[#s + 1] = string.format("%5d %q %g", i, "x", i / 3) end table.concat(s) end,
}
while true do loads[math.random(#loads)]() end
