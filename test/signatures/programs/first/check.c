// Both bugs abort in check_failed, the program's own assertion: one queue is read when it
// is empty, one list has lost a member.
#include "../noise.h"
#include <stdarg.h>
#include <stdio.h>

static void report(const char *format, va_list args) { vfprintf(stderr, format, args); fputc('\n', stderr); }

static void check_failed(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	report(format, args);
	va_end(args);
	abort();
}

#define CHECK(cond) do { if (!(cond)) check_failed("%s:%d: %s", __FILE__, __LINE__, #cond); } while (0)

static int ring[8], ring_head, ring_tail;

static int ring_pop(void)
{
	CHECK(ring_head != ring_tail);
	return ring[ring_head++ % 8];
}

static int next_event(int wanted)
{
	int event;
	while ((event = ring_pop()) != wanted)
		noise_rounds++;
	return event;
}

static void wait_for_reply(void)
{
	ring[ring_tail++ % 8] = 1;
	ring[ring_tail++ % 8] = 2;
	noise_rounds += next_event(3);
}

struct member { struct member *next, *prev; };

static void list_unlink(struct member *m)
{
	CHECK(m->next->prev == m);
	m->prev->next = m->next;
	m->next->prev = m->prev;
}

static void leave(struct member *m, int times)
{
	while (times--)
		list_unlink(m);
	noise_rounds++;
}

static void on_disconnect(void)
{
	struct member head, one;
	head.next = head.prev = &one;
	one.next = one.prev = &head;
	leave(&one, 2);
	noise_rounds++;
}

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? wait_for_reply : on_disconnect);
	return argc;
}
