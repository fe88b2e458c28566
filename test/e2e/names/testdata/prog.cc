#include <cstdlib>
#include <string>
#include <vector>

namespace outer {
namespace {

template <typename T> struct Box {
	T value;
	inline __attribute__((always_inline)) T take(T more)
	{
		if (more + value > 4)
			abort();
		return value;
	}
};

inline __attribute__((always_inline)) int hidden(int v)
{
	Box<long> b{v};
	return int(b.take(v * 2));
}

} // namespace

class Worker {
public:
	explicit Worker(std::string name) : name(std::move(name)) {}
	__attribute__((noinline)) int run(const std::vector<int> &v) const
	{
		return step(v[0]) + int(name.size());
	}

private:
	inline __attribute__((always_inline)) int step(int v) const { return hidden(v + 1) + 1; }
	std::string name;
};

} // namespace outer

static volatile int start = 3;

int main()
{
	outer::Worker w("a name that is not short");
	auto call = [&](int v) __attribute__((noinline)) { return w.run({v, 2, 3}); };
	return call(start);
}
