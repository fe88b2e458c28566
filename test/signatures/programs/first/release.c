// Both bugs crash in free, called by node_release: one frees a child twice, one frees what
// was never allocated.
#include "../noise.h"

struct node { struct node *left, *right; char *name; };

static void node_release(struct node *n)
{
	free(n->name);
	n->name = NULL;
	free(n);
}

static struct node *node_new(char *name)
{
	struct node *n = calloc(1, sizeof *n);
	n->name = name;
	return n;
}

static void tree_remove(struct node **at)
{
	struct node *n = *at;
	if (n->left)
		node_release(n->left);
	node_release(n);
	noise_rounds++;
}

static void drop_subtree(struct node *root)
{
	tree_remove(&root->left);
	tree_remove(&root->left);
	noise_rounds++;
}

static void on_delete(void)
{
	struct node *root = node_new(NULL);
	root->left = node_new(malloc(8));
	drop_subtree(root);
	noise_rounds++;
}

static char names[2][16] = {"static", "names"};

static void evict(struct node **slots, int slot)
{
	node_release(slots[slot]);
	slots[slot] = NULL;
}

static void shrink_cache(struct node **slots, int n, int keep)
{
	while (n > keep)
		evict(slots, --n);
	noise_rounds++;
}

static void on_pressure(void)
{
	struct node *slots[2] = {node_new(names[0]), node_new(names[1] + 1)};
	shrink_cache(slots, 2, 1);
	noise_rounds++;
}

int main(int argc, char **argv)
{
	enter(atoi(argv[2]), atoi(argv[1]) == 1 ? on_delete : on_pressure);
	return argc;
}
