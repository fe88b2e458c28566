// Both bugs call a std::function that is empty in Node::visit: one visitor was moved from,
// one is set by an option that is not given.
#include "../noise.h"
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tree {

template <typename T> struct Node {
	T value;
	std::vector<std::unique_ptr<Node>> children;

	Node *add(T v)
	{
		children.push_back(std::make_unique<Node>());
		children.back()->value = std::move(v);
		return children.back().get();
	}
	void visit(const std::function<void(const T &)> &f) const
	{
		f(value);
		for (const auto &c : children)
			c->visit(f);
	}
};

} // namespace tree

namespace {

using File = tree::Node<std::string>;

struct Search {
	std::function<void(const std::string &)> found;
	void run(const File &root) { root.visit(found); }
};

void run_twice(Search s, const File &root)
{
	Search other = std::move(s);
	other.run(root);
	s.run(root);
}

void find_files()
{
	File root{"/", {}};
	root.add("etc")->add("passwd");
	std::size_t longest = 0;
	run_twice({[&](const std::string &name) { longest = std::max(longest, name.size()); }}, root);
	noise_rounds += static_cast<int>(longest);
}

struct Options {
	std::function<void(const int &)> on_size;
	explicit Options(const char *text)
	{
		if (std::strchr(text, 's') != nullptr)
			on_size = [](const int &n) { noise_rounds += n; };
	}
};

class Usage {
public:
	Usage() : sizes_{0, {}} { sizes_.add(3)->add(4); }
	void print(const Options &o) const { sizes_.visit(o.on_size); }

private:
	tree::Node<int> sizes_;
};

void report(const char *text)
{
	Usage u;
	u.print(Options(text));
}

void measure_disk() { report("h"); }

} // namespace

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? find_files : measure_disk);
	return argc;
}
