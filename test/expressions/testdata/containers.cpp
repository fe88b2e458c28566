#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>
#define keep(x) __asm__ volatile("" : : "g"(&(x)) : "memory")

struct Item { int id; std::string name; };

volatile int stopping = 1; // so that compilers think that stop may return
__attribute__((noinline)) void stop() { if (stopping) abort(); }
int twice(int n) { return 2 * n; }

__attribute__((noinline)) void here() {
  std::string empty, little = "short", large = "a string that is longer than the buffer within a string object";
  std::wstring wide = L"wide";
  std::string_view view = std::string_view(large).substr(2, 6);
  std::vector<int> numbers{1, 2, 3, 5, 8, 13}, nothing;
  std::vector<bool> bits{true, false, true, true};
  std::vector<Item> items{{1, "apple"}, {2, "pear"}};
  std::vector<std::vector<int>> nested{{1, 2}, {}, {3}};
  std::array<short, 4> array{4, 3, 2, 1};
  std::deque<int> deque;
  for (int i = 0; i < 300; i++) deque.push_back(i);
  for (int i = 0; i < 298; i++) deque.pop_front();
  std::list<int> list{4, 5, 6};
  std::forward_list<int> forward{7, 8};
  std::map<std::string, int> map{{"apple", 3}, {"pear", 4}, {"quince", 5}};
  std::multimap<int, double> multimap{{1, 0.5}, {1, 1.5}};
  std::set<int> set{9, 7, 8};
  std::unordered_map<int, std::string> hashed{{17, "seventeen"}};
  std::unordered_set<std::string> words{"alone"};
  std::unique_ptr<Item> unique(new Item{6, "unique"}), none;
  std::shared_ptr<Item> shared = std::make_shared<Item>(Item{7, "shared"}), second = shared;
  std::weak_ptr<Item> weak = shared;
  std::optional<int> some = 5, nullopt;
  std::optional<std::string> text = "optional";
  std::variant<int, std::string> variant = std::string("chosen");
  std::variant<int, double> first = 42;
  std::tuple<int, std::string, double> tuple{42, "tuple", 2.5};
  std::pair<int, char> pair{3, 'c'};
  std::function<int(int)> function = twice, callable;
  std::atomic<int> atomic{9};
  std::chrono::milliseconds duration{1500};
  keep(empty); keep(little); keep(large); keep(wide); keep(view); keep(numbers); keep(nothing); keep(bits); keep(items); keep(nested); keep(array); keep(deque); keep(list); keep(forward);
  keep(map); keep(multimap); keep(set); keep(hashed); keep(words); keep(unique); keep(none); keep(shared); keep(weak); keep(some); keep(nullopt); keep(text);
  keep(variant); keep(first); keep(tuple); keep(pair); keep(function); keep(callable); keep(atomic); keep(duration);
  stop();
}

int main() { here(); }
