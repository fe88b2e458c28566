// Both bugs ask for a key that is not there in Store::get: one entry was evicted, one key
// was written in another case. Nobody catches what std::map::at throws.
#include "../noise.h"
#include <algorithm>
#include <cctype>
#include <deque>
#include <map>
#include <string>

namespace {

class Store {
public:
	explicit Store(std::size_t most) : most_(most) {}
	void put(const std::string &key, std::string value)
	{
		order_.push_back(key);
		values_[key] = std::move(value);
		if (order_.size() > most_) {
			values_.erase(order_.front());
			order_.pop_front();
		}
	}
	const std::string &get(const std::string &key) const { return values_.at(key); }

private:
	std::size_t most_;
	std::deque<std::string> order_;
	std::map<std::string, std::string> values_;
};

struct Template {
	std::string name;
	Template *parent;
};

std::string render(const Store &store, const Template &t)
{
	std::string text = store.get(t.name);
	return t.parent == nullptr ? text : render(store, *t.parent) + text;
}

void show_page()
{
	Store store(3);
	Template base{"base", nullptr}, page{"page", &base}, list{"list", &page};
	for (const char *name : {"base", "page", "list", "mail"})
		store.put(name, std::string("<") + name + ">");
	noise_rounds += static_cast<int>(render(store, list).size());
}

template <typename F> void each_word(const std::string &text, F f)
{
	for (std::size_t at = 0; at < text.size();) {
		std::size_t end = std::min(text.find(' ', at), text.size());
		f(text.substr(at, end - at));
		at = end + 1;
	}
}

std::string lower(std::string s)
{
	std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return std::tolower(c); });
	return s;
}

void translate()
{
	Store words(100);
	each_word("House Tree", [&](const std::string &w) { words.put(w, w + "!"); });
	std::size_t n = 0;
	each_word("tree house", [&](const std::string &w) { n += words.get(lower(w)).size(); });
	noise_rounds += static_cast<int>(n);
}

} // namespace

int main(int argc, char **argv)
{
	enter(std::atoi(argv[2]), std::atoi(argv[1]) == 1 ? show_page : translate);
	return argc;
}
