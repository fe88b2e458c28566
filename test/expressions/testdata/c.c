#include <stdlib.h>
#define keep(x) __asm__ volatile("" : : "g"(&(x)) : "memory")
enum color { RED, GREEN = 5, BLUE };
struct point { int x; short y; };
struct node { int id; struct node *next; struct point at; unsigned flag : 3; int small : 4; enum color paint; };
union word { unsigned u; unsigned char bytes[4]; float f; };
typedef unsigned char byte;
int counter = 17;
static int hidden = 23;
struct point origin = {3, -4};
int shadowed = 1;
extern int outer_total(void);

volatile int stopping = 1; /* so that compilers think that stop may return */
__attribute__((noinline)) void stop(void) { if (stopping) abort(); }

__attribute__((noinline)) void here(int depth, struct node *first, const char *name) {
  static int calls = 8;
  int index = 5, negative = -7, shadowed = 2;
  unsigned char uc = 200;
  signed char sc = -100;
  unsigned int big = 4000000000u;
  long long wide = 1LL << 40;
  double ratio = 2.5;
  float half = 0.5f;
  char buffer[32] = "hello";
  int arr[6] = {10, 20, 30, 40, 50, 60};
  int grid[2][3] = {{1, 2, 3}, {4, 5, 6}};
  int *p = &arr[2];
  struct node *none = 0;
  union word w = {.u = 0x3f800000};
  byte b = 255;
  enum color paint = BLUE;
  char time[8] = "now";
  keep(depth); keep(first); keep(name); keep(calls); keep(index); keep(negative); keep(shadowed); keep(uc); keep(sc); keep(big);
  keep(wide); keep(ratio); keep(half); keep(buffer); keep(arr); keep(grid); keep(p); keep(none); keep(w); keep(b); keep(paint); keep(time);
  stop();
  keep(depth); keep(first); keep(name); keep(index); keep(negative); keep(shadowed); keep(uc); keep(sc); keep(big);
  keep(wide); keep(ratio); keep(half); keep(buffer); keep(arr); keep(grid); keep(p); keep(none); keep(w); keep(b); keep(paint); keep(time);
}

int main(void) {
  struct node last = {2, 0, {7, 8}, 5, -3, RED}, first = {1, &last, {1, 2}, 7, 3, GREEN};
  keep(first); keep(last); keep(hidden);
  here(3, &first, "a name");
  return 0;
}
