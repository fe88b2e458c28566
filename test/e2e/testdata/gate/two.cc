#include <vector>

template <class T> __attribute__((noinline)) T twice(T x)
{
	std::vector<T> v(3, x);
	return v[0] + v[2];
}

int other(int x)
{
	return twice(x + 3);
}
