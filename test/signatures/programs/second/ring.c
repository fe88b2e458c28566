// Both bugs trap in queue_put, which calls a limit that must not be exceeded impossible:
// one writer does not wait, one message is split into too many parts.
#include "../noise.h"

struct queue { int items[4], used; };

static void queue_put(struct queue *q, int item)
{
	if (q->used == 4)
		__builtin_trap();
	q->items[q->used++] = item;
}

static struct queue commands;

static int post(int command)
{
	queue_put(&commands, command);
	return commands.used;
}

static void press_keys(const char *keys)
{
	while (*keys)
		noise_rounds += post(*keys++);
}

static void on_key(void)
{
	press_keys("hello");
	noise_rounds++;
}

struct link { struct queue out; int mtu; };

static void send_part(struct link *l, int at)
{
	queue_put(&l->out, at);
	noise_rounds++;
}

static void send_message(struct link *l, int size)
{
	for (int at = 0; at < size; at += l->mtu)
		send_part(l, at);
	noise_rounds++;
}

static void broadcast(struct link *links, int n, int size)
{
	for (int i = 0; i < n; i++)
		send_message(&links[i], size);
	noise_rounds++;
}

static void on_tick(void)
{
	struct link links[2] = {{{{0}, 0}, 400}, {{{0}, 0}, 100}};
	broadcast(links, 2, 1000);
	noise_rounds++;
}

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? on_key : on_tick);
	return argc;
}
