#include <cstdlib>
#define keep(x) __asm__ volatile("" : : "g"(&(x)) : "memory")
int level = 1;
namespace shop {
int level = 2;
enum class Color : unsigned char { Red, Green = 5, Blue };
enum Size { Small = 1, Large = 9 };
struct Point { double x, y; static int made; };
int Point::made = 6;
struct Base { virtual ~Base() {} int base = 7; };
struct Derived : Base { int own = 8; Base *self = this; };
template <class T> struct Box { T value; static int count; };
template <class T> int Box<T>::count = 12;
namespace { int secret = 31; }
namespace deep { struct Inner { long v; }; Inner inner{44}; }
volatile int stopping = 1; // so that compilers think that stop may return
__attribute__((noinline)) void stop() { if (stopping) abort(); }

struct Store {
  int total = 5;
  int items[3] = {1, 2, 3};
  Point where{1.5, -2.0};
  static const int limit = 99;
  __attribute__((noinline)) void here(int depth, Point &ref, Base *object);
};

void Store::here(int depth, Point &ref, Base *object) {
  Color color = Color::Blue;
  Box<int> box{3};
  Box<Point> pbox{{0.25, 0.75}};
  bool yes = true, no = false;
  char16_t wide = u'x';
  int Point_ = 4;
  const int &cref = depth;
  int Store::*member = &Store::total;
  Derived *derived = static_cast<Derived *>(object);
  unsigned long mask = 0xff00ff00ff00ff00ul;
  int (*fn)(int) = abs;
  float third = 1.0f / 3;
  short s = -1;
  keep(depth); keep(color); keep(box); keep(pbox); keep(yes); keep(no); keep(wide); keep(Point_); keep(cref); keep(member); keep(derived); keep(mask); keep(fn); keep(third); keep(s); keep(ref); keep(object);
  stop();
  keep(depth); keep(color); keep(box); keep(pbox); keep(yes); keep(no); keep(wide); keep(Point_); keep(cref); keep(member); keep(derived); keep(mask); keep(fn); keep(third); keep(s); keep(ref); keep(object);
}
}

int main() {
  shop::Store store;
  shop::Point point{10, 20};
  shop::Derived derived;
  keep(store); keep(point); keep(derived); keep(shop::Box<int>::count); keep(shop::secret); keep(shop::deep::inner); keep(shop::Point::made);
  shop::Size size = shop::Large; keep(size);
  store.here(4, point, &derived);
}
