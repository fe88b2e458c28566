#include <vector>

template <class T> __attribute__((noinline)) T twice(T x)
{
	std::vector<T> v(3, x);
	return v[0] + v[2];
}

int other(int);

int unused(int x)
{
	return twice(x) + 1;
}

int main(int argc, char **)
{
	return twice(argc) + other(argc);
}
