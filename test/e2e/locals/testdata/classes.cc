// Classes, references, templates and containers of C++.
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>
#include <map>

namespace shop {

enum class State : unsigned char { Open, Closed = 7 };

struct Base {
	virtual ~Base() {}
	int id = 11;
};
struct Tag {
	char tag = 't';
	bool live = true;
};
struct Virtual : virtual Base {
	short v = 3;
};
struct Item : Base, Tag {
	State state = State::Closed;
	double price = 9.75;
	const char *label = "tea";
	int Item::*which = &Item::count;
	int count = 4;
	static int made;
};
int Item::made = 9;

template <typename T, int N> struct Ring {
	T slots[N];
	unsigned head : 4, tail : 4;
};

volatile int sink;

struct Shop {
	std::string name = "corner shop with a long name";
	std::vector<int> sold{1, 2, 3};
	Item best;

	__attribute__((noinline)) int close(Item &item, const Virtual *virt, Item &&last, char16_t letter)
	{
		Ring<long, 4> ring = {{10, 20, 30, 40}, 3, 9};
		auto &alias = ring.slots[2];
		auto add = [&](int n) { return n + item.count + sink; };
		int total = add(5);
		decltype(nullptr) none = nullptr;
		for (int s : sold) {
			total += s;
			if (s == 3)
				std::abort();
		}
		sink = total + last.count + virt->v + letter + int(alias) + ring.head + (none == nullptr);
		return total;
	}
};

}  // namespace shop

int main(int argc, char **)
{
	using namespace shop;
	Shop s;
	Item item;
	item.count = argc + 41;
	Virtual virt;
	std::unique_ptr<Item> owned(new Item);
	std::map<int, int> sizes{{1, 2}};
	int r = s.close(item, &virt, std::move(*owned), u'\u00e9');
	return r + sink + (int)sizes.size();
}
