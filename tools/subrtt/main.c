// SPDX-License-Identifier: GPL-2.0
/* subrtt: what Bolt and SFC do on this machine.  The command line; see subrtt(8). */

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "subrtt.h"

struct bc_conf conf;

static const struct bc_cmd * const commands[] = {
	&cmd_flows, &cmd_stats, &cmd_qdisc, &cmd_top, &cmd_exporter, &cmd_doctor,
};

#define N_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static void print_help(void)
{
	unsigned int i;

	printf("Usage: subrtt [-j] [-n NETNS] COMMAND [OPTIONS]\n"
	       "\n"
	       "Commands:\n");
	for (i = 0; i < N_COMMANDS; i++)
		printf("  %-8s %s\n", commands[i]->name, commands[i]->what);
	printf("  %-8s %s\n", "help", "this list, or help about one command: subrtt help flows");
	printf("\n"
	       "Options, before or after the command:\n"
	       "  -j, --json           print JSON\n"
	       "  -n, --netns NETNS    show this network namespace: a name of ip-netns(8), the ID of a\n"
	       "                       process in it, or a path such as /proc/self/ns/net\n"
	       "  -h, --help           print what the command shows, its options, and examples\n"
	       "  -V, --version        print name and version\n"
	       "\n"
	       "Where to start:\n"
	       "  subrtt doctor   diagnose the setup; each problem comes with a fix\n"
	       "  subrtt flows    on a host: the state of each connection\n"
	       "  subrtt qdisc    on a router: options and counters of each port\n"
	       "\n"
	       "Exit status: 0 success, 1 failure, 2 wrong usage, 3 permission missing, 4 module,\n"
	       "namespace or device not found, 5 doctor found something to fix.\n");
}

static void help_command(const struct bc_cmd *c)
{
	printf("Usage: subrtt [-j] [-n NETNS] %s%s%s\n\n%s", c->name, *c->usage ? " " : "",
	       c->usage, c->help);
}

static const struct bc_cmd *find(const char *name)
{
	unsigned int i;

	for (i = 0; i < N_COMMANDS; i++)
		if (!strcmp(name, commands[i]->name))
			return commands[i];
	return NULL;
}

static int unknown(const char *name)
{
	return bc_error(BC_USAGE, "no command \"%s\"; see: subrtt help", name);
}

static const struct bc_cmd *current;

static bool long_takes_none(const struct option *longs, int c)
{
	for (; longs->name; longs++)
		if (longs->val == c)
			return longs->has_arg == no_argument;
	return false;
}

/* What is wrong with the option that getopt has just met */
static int bad_option(int c, char **argv, const struct option *longs)
{
	const char *word = argv[optind - 1], *name = current ? current->name : "help";

	if (c == ':' && !strncmp(word, "--", 2))
		return bc_error(BC_USAGE, "%s: value missing", word);
	if (c == ':')
		return bc_error(BC_USAGE, "-%c: value missing", optopt);
	/* a cluster of short ones: the word before is not what is wrong, unless optopt is its */
	if (optopt && !strncmp(word, "--", 2) && strchr(word, '=') &&
	    long_takes_none(longs, optopt))
		return bc_error(BC_USAGE, "%.*s takes no value", (int)strcspn(word, "="), word);
	if (optopt)
		return bc_error(BC_USAGE, "no option \"-%c\"; see: subrtt %s%s", optopt,
				current ? name : "help", current ? " --help" : "");
	return bc_error(BC_USAGE, "no option \"%s\"; see: subrtt %s%s", word,
			current ? name : "help", current ? " --help" : "");
}

/*
 * The next option that is not common to all commands; 0: that was all, or what is wrong has been
 * said and *status is not 0.
 */
int bc_getopt(int argc, char **argv, const char *shorts, const struct option *longs, int *status)
{
	char all[64];
	int c;

	snprintf(all, sizeof(all), "%s:jn:hV%s", current ? "" : "+", shorts);
	opterr = 0;
	*status = BC_OK;
	while ((c = getopt_long(argc, argv, all, longs, NULL)) != -1) {
		switch (c) {
		case 'j':
			conf.json = true;
			break;
		case 'n':
			*status = bc_enter_netns(optarg);
			if (*status)
				return 0;
			break;
		case 'h':
			if (current)
				help_command(current);
			else
				print_help();
			exit(bc_flush());
		case 'V':
			printf("subrtt %s\n", SUBRTT_VERSION);
			exit(bc_flush());
		case ':':
		case '?':
			*status = bad_option(c, argv, longs);
			return 0;
		default:
			return c;
		}
	}
	return 0;
}

/* For commands that take no more words */
int bc_no_more(int argc, char **argv)
{
	if (optind < argc)
		return bc_error(BC_USAGE, "unknown word \"%s\"; see: subrtt %s --help",
				argv[optind], argv[0]);
	return BC_OK;
}

static int cmd_help(int argc, char **argv)
{
	const struct bc_cmd *c;

	if (argc < 2) {
		print_help();
		return bc_flush();
	}
	c = find(argv[1]);
	if (!c)
		return unknown(argv[1]);
	help_command(c);
	return bc_flush();
}

int main(int argc, char **argv)
{
	static const struct option longs[] = { BC_LONG_COMMON };
	int status;

	bc_getopt(argc, argv, "", longs, &status);
	if (status)
		return status;
	argc -= optind;
	argv += optind;
	if (!argc)
		return bc_error(BC_USAGE, "no command given; see: subrtt help");
	if (!strcmp(argv[0], "help"))
		return cmd_help(argc, argv);
	current = find(argv[0]);
	if (!current)
		return unknown(argv[0]);
	optind = 0;	/* from the start, of another list */
	return current->run(argc, argv);
}
