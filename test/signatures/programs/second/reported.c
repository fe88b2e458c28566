// Both bugs crash in table_find, and a handler of the program reports the signal and
// aborts: one table was destroyed before, one was never filled.
#include "../noise.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void write_report(int number)
{
	static const char text[] = "crashed\n";
	if (write(2, text, sizeof text - 1) < number - 1000)
		noise_rounds++;
}

static void on_fatal_signal(int number)
{
	write_report(number);
	abort();
}

struct entry { struct entry *next; int key, value; };
struct table { struct entry **buckets; unsigned size; };

static struct entry *table_find(const struct table *t, int key)
{
	struct entry *e = t->buckets[key % t->size];
	while (e && e->key != key)
		e = e->next;
	return e;
}

static int table_get(const struct table *t, int key)
{
	struct entry *e = table_find(t, key);
	return e ? e->value : -1;
}

static struct table *sessions;

static struct entry **volatile no_buckets; // or clang -O2 leaves out what uses them

static void table_destroy(struct table *t)
{
	free(t->buckets);
	t->buckets = no_buckets;
}

static int session_of(int user) { return table_get(sessions, user) + noise_rounds; }

static void log_out(int user)
{
	table_destroy(sessions);
	noise_rounds += session_of(user);
}

static void on_logout(void)
{
	static struct table t;
	t.size = 8;
	t.buckets = calloc(8, sizeof *t.buckets);
	sessions = &t;
	log_out(3);
	noise_rounds++;
}

static struct table routes = {.size = 4};

static int next_hop(int address)
{
	int hop = table_get(&routes, address & 0xff);
	return hop < 0 ? table_get(&routes, 0) : hop;
}

static void forward(const int *packet)
{
	noise_rounds += next_hop(packet[1]);
}

static void on_packet(void)
{
	int packet[4] = {1, 0x0a000001, 2, 3};
	forward(packet);
	noise_rounds++;
}

int main(int argc, char **argv)
{
	signal(SIGSEGV, on_fatal_signal);
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? on_logout : on_packet);
	return argc;
}
