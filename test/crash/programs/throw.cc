// Ends by an exception that nobody catches, thrown below a template and a lambda.
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace shop {
template <typename T> struct Cart {
	std::vector<T> items;
	void check(const std::string &what)
	{
		auto find = [&](int n) {
			if (n == 0)
				throw std::runtime_error(what);
			std::abort();
		};
		find(static_cast<int>(items.size()));
	}
};
} // namespace shop

int main(int count, char **args)
{
	std::vector<std::thread> others;
	for (int i = 0; i < (count > 2 ? std::atoi(args[2]) : 0); i++)
		others.emplace_back([] { std::this_thread::sleep_for(std::chrono::hours(1)); });
	shop::Cart<std::string> cart;
	if (!std::strcmp(args[1], "abort"))
		cart.items.push_back("one");
	cart.check("no items");
}
