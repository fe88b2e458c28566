// Both bugs take the value of an empty std::optional in Settings::number: one name is
// misspelled, one file was read before its defaults.
#include "../noise.h"
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace config {

class Settings {
public:
	void set(const std::string &name, int value) { values_[name] = value; }
	std::optional<int> find(const std::string &name) const
	{
		auto it = values_.find(name);
		return it == values_.end() ? std::nullopt : std::optional<int>(it->second);
	}
	int number(const std::string &name) const { return find(name).value(); }

private:
	std::map<std::string, int> values_;
};

template <typename Layer> class Stack {
public:
	void push(Layer l) { layers_.push_back(std::move(l)); }
	template <typename F> int first(F f) const
	{
		for (const Layer &l : layers_)
			if (int n = f(l))
				return n;
		return 0;
	}

private:
	std::vector<Layer> layers_;
};

} // namespace config

namespace {

struct Window {
	int width = 0, height = 0;
	void layout(const config::Settings &s)
	{
		width = s.number("width");
		height = s.number("heigth");
	}
};

void open_window(const config::Settings &s)
{
	Window w;
	w.layout(s);
	noise_rounds += w.width + w.height;
}

void start_editor()
{
	config::Settings s;
	s.set("width", 80);
	s.set("height", 25);
	open_window(s);
}

int limit_of(const config::Stack<config::Settings> &layers, const std::string &name)
{
	return layers.first([&](const config::Settings &s) { return s.number(name); });
}

bool allowed(const config::Stack<config::Settings> &layers, int connections)
{
	return connections < limit_of(layers, "connections");
}

void accept_connections()
{
	config::Stack<config::Settings> layers;
	config::Settings user, defaults;
	defaults.set("connections", 10);
	layers.push(user);
	layers.push(defaults);
	for (int i = 0; allowed(layers, i); i++)
		noise_rounds++;
}

} // namespace

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? start_editor : accept_connections);
	return argc;
}
