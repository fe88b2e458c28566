// A unit with much debug information: STEPS instances of templates that hold instances of
// templates of the standard library. run() goes through all of them, and then to next(),
// which is the run() of another copy of the unit; "depth" calls further on, it aborts.
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

int run(int depth);
int next(int depth);

namespace {

template <int N> struct Key {
	int value;
	bool operator<(const Key &other) const { return value < other.value; }
	bool operator==(const Key &other) const { return value == other.value; }
};

template <int N> struct Hash {
	size_t operator()(const Key<N> &key) const { return key.value; }
};

template <int N> struct Value {
	std::string name;
	std::vector<Key<N>> keys;
	std::shared_ptr<Value> other;
};

template <int N> struct Step {
	static __attribute__((noinline)) int go(int depth)
	{
		std::map<Key<N>, Value<N>> ordered;
		std::unordered_map<Key<N>, std::unique_ptr<Value<N>>, Hash<N>> hashed;
		ordered[Key<N>{depth}].keys.push_back(Key<N>{N});
		hashed[Key<N>{depth}] = std::make_unique<Value<N>>();
		std::function<int(int)> further = [&](int left) {
			if (left <= 0)
				abort();
			return Step<N - 1>::go(left - 1) + int(hashed.size());
		};
		return further(depth) + int(ordered.size());
	}
};

template <> struct Step<0> {
	static int go(int depth) { return next(depth) + 1; }
};

} // namespace

int run(int depth) { return Step<STEPS>::go(depth); }
