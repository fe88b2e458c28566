// Much debug information: about 2 MB in an object file.
#include <filesystem>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <random>
#include <regex>
#include <unordered_map>

int heavy(int v)
{
	std::regex r("a*b(c|d)+");
	std::map<std::string, std::vector<int>> m;
	std::unordered_map<int, std::string> u;
	m["x"].push_back(v);
	u[v] = "y";
	std::mt19937 g(v);
	std::function<int(int)> f = [&](int x) { return x + int(g()); };
	auto result = std::async(std::launch::async, [&] { return f(v); });
	std::cout << std::regex_match("abc", r) << std::filesystem::path("/x").string() << result.get();
	return int(m.size());
}
