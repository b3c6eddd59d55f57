// SPDX-License-Identifier: GPL-2.0
/*
 * Would a packet filter drop control messages?  What is sent to oneself goes by loopback, which
 * filters let pass; so the rules are read, as text, for what is written most often:
 *
 *   - a rule in a base chain that drops or rejects the port;
 *   - a base chain that drops what it does not know (its policy, or its last rule), in a table
 *     where no rule accepts the port.
 *
 * A rule about the port that looks at addresses or devices as well, or at a named set, may let in
 * just the switches: that is told, and is nothing to fix.  A rule that accepts by address or device
 * alone is not understood.
 */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "subrtt.h"
#include "doctor.h"

/* Whether a number, a range or an element of a set in the text is the port */
static bool has_port(const char *s, unsigned int port)
{
	unsigned long a, b;
	char *end;

	while (*s) {
		if (!isdigit((unsigned char)*s) || isalpha((unsigned char)s[1])) {
			s++;
			continue;
		}
		a = strtoul(s, &end, 10);
		b = a;
		s = end;
		if ((*s == '-' || *s == ':') && isdigit((unsigned char)s[1])) {
			b = strtoul(s + 1, &end, 10);
			s = end;
		}
		if (a <= port && port <= b)
			return true;
	}
	return false;
}

/* What a rule says of a destination port */
enum about { NOT_THE_PORT, THE_PORT, SOME_OF_IT };

/*
 * "udp dport 12311", "th dport { 53, 12311 }"; SOME_OF_IT if it depends on more than the port: an
 * address, a device, a named set ("@switches"), a verdict of a map
 */
static enum about about_port(const char *rule, unsigned int port)
{
	static const char * const more[] = { "saddr ", "daddr ", "iif", "oif", "vmap ", "!= ", "@" };
	const char *at = strstr(rule, "dport ");
	char match[1024];
	unsigned int i;
	size_t n;

	if (!at || strstr(rule, "tcp dport"))
		return NOT_THE_PORT;
	at += strlen("dport ");
	while (*at == ' ')
		at++;
	if (!strncmp(at, "vmap ", 5))
		at += 5;
	if (!strncmp(at, "!=", 2))
		return NOT_THE_PORT;
	/* what is in a named set is not looked up */
	if (*at == '@')
		return SOME_OF_IT;
	n = *at == '{' ? strcspn(at, "}") : strcspn(at, " ");
	snprintf(match, sizeof(match), "%.*s", (int)n, at);
	if (!has_port(match, port))
		return NOT_THE_PORT;
	for (i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (strstr(rule, more[i]))
			return SOME_OF_IT;
	return THE_PORT;
}

static bool word_in(const char *rule, const char *word)
{
	const char *at = strstr(rule, word);
	size_t n = strlen(word);

	return at && (at == rule || at[-1] == ' ') && (!at[n] || at[n] == ' ');
}

static bool stops(const char *rule)
{
	return word_in(rule, "drop") || word_in(rule, "reject");
}

/* --- nftables --- */

struct chain {
	char table[128];	/* "inet filter" */
	char name[64];
	bool base, ours;	/* at any hook; at the one that is looked at */
	bool drops;		/* by policy or at its end */
	bool drops_port;
	bool accepts_port;	/* in the table, by any chain that the hook may come through */
	bool some_only;		/* a rule about the port depends on who sends */
};

struct verdict {
	bool blocked, some_only;
};

static void conclude(const struct chain *c, unsigned int port, struct verdict *v)
{
	if (!c->ours)
		return;
	if (!c->drops_port && (!c->drops || c->accepts_port)) {
		if (!c->some_only)
			return;
		v->some_only = true;
		found(D_NOTE, "filter", NULL,
		      "chain %s of table %s lets UDP port %u in from some senders or devices only: every switch has to be among them",
		      c->name, c->table, port);
		return;
	}
	v->blocked = true;
	found(D_FIX, "filter",
	      words("sudo nft insert rule %s %s udp dport %u accept", c->table, c->name, port),
	      c->drops_port ?
	      "chain %s of table %s drops UDP port %u, so control messages do not arrive" :
	      "chain %s of table %s drops what no rule accepts, and no rule of the table accepts UDP port %u",
	      c->name, c->table, port);
}

/* A rule of @c, which is the last of the @n chains; those of its table begin with @first */
static void read_rule(struct chain *chains, unsigned int first, unsigned int n, const char *rule,
		      unsigned int port)
{
	struct chain *c = &chains[n - 1];
	enum about about = about_port(rule, port);
	unsigned int i;

	/* what another hook accepts does not help */
	if (about != NOT_THE_PORT && c->base && !c->ours)
		return;
	if (about == SOME_OF_IT)
		for (i = first; i < n; i++)
			chains[i].some_only = true;
	if (about != NOT_THE_PORT && strstr(rule, "accept")) {
		for (i = first; i < n; i++)
			chains[i].accepts_port = true;
	} else if (about == THE_PORT) {
		if (stops(rule) && !c->accepts_port)
			c->drops_port = true;
	} else if (about == NOT_THE_PORT) {
		/* the last rule counts: what stands before it is for somebody else */
		if (!strncmp(rule, "drop", 4) || !strncmp(rule, "reject", 6) ||
		    (!strncmp(rule, "counter", 7) && stops(rule)))
			c->drops = true;
	}
}

/* A table may have several chains at the hook; what is accepted in one table another may drop. */
static void read_nft(char *rules, const char *hook, unsigned int port, struct verdict *v)
{
	unsigned int n = 0, i, first = 0, room = 0;
	char table[128] = "", want[32], *line, *next;
	struct chain *chains = NULL, *c;
	bool in_chain = false;

	snprintf(want, sizeof(want), "hook %s ", hook);
	for (line = rules; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		line += strspn(line, " \t");
		if (!strncmp(line, "table ", 6)) {
			line[strcspn(line, "{")] = '\0';
			snprintf(table, sizeof(table), "%.*s", (int)strlen(line) - 7, line + 6);
			first = n;
			in_chain = false;
		} else if (!strncmp(line, "chain ", 6)) {
			if (n == room) {
				room = room ? 2 * room : 64;
				c = realloc(chains, room * sizeof(*chains));
				if (!c)
					exit(bc_error(BC_FAIL, "no memory"));
				chains = c;
			}
			c = memset(&chains[n++], 0, sizeof(*c));
			in_chain = true;
			snprintf(c->table, sizeof(c->table), "%s", table);
			snprintf(c->name, sizeof(c->name), "%.*s", (int)strcspn(line + 6, " "),
				 line + 6);
			/* what an earlier chain of the table accepts */
			c->accepts_port = n - 1 > first && chains[first].accepts_port;
			c->some_only = n - 1 > first && chains[first].some_only;
		} else if (*line == '}') {
			in_chain = false;
		} else if (in_chain && strstr(line, " hook ")) {
			c = &chains[n - 1];
			c->base = true;
			c->ours = strstr(line, "type filter") && strstr(line, want);
			c->drops = strstr(line, "policy drop");
		} else if (in_chain && *line) {
			read_rule(chains, first, n, line, port);
		}
	}
	for (i = 0; i < n; i++)
		conclude(&chains[i], port, v);
	free(chains);
}

/* --- the older iptables --- */

static bool ipt_stops(const char *rule)
{
	return strstr(rule, "-j DROP") || strstr(rule, "-j REJECT");
}

/* For all packets: no protocol, address, device or match is named */
static bool ipt_for_all(const char *rule)
{
	return !strstr(rule, " -p ") && !strstr(rule, " -s ") && !strstr(rule, " -i ") &&
	       !strstr(rule, " -m ");
}

/* The rules of one chain, of iptables -S */
static bool ipt_blocks(const char *command, const char *chain, unsigned int port)
{
	char out[1 << 16], rule[512], *line, *save, *at;
	bool drops = false, accepted = false, dropped = false;

	if (run_command(words("%s -S %s 2>/dev/null", command, chain), out, sizeof(out)))
		return false;
	for (line = strtok_r(out, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		snprintf(rule, sizeof(rule), "%s", line);
		at = strstr(rule, "--dports ");
		if (!at)
			at = strstr(rule, "--dport ");
		if (!strncmp(rule, "-P ", 3)) {
			drops = strstr(rule, " DROP");
		} else if (at && !strstr(rule, "-p tcp") && has_port(strchr(at, ' '), port)) {
			accepted |= strstr(rule, "-j ACCEPT") && !dropped;
			dropped |= ipt_stops(rule) && !accepted;
		} else if (ipt_for_all(rule) && ipt_stops(rule)) {
			drops = true;
		}
	}
	if (!dropped && (!drops || accepted))
		return false;
	found(D_FIX, "filter",
	      words("sudo %s -I %s -p udp --dport %u -j ACCEPT", command, chain, port),
	      "%s: chain %s drops UDP port %u", command, chain, port);
	return true;
}

bool doctor_filter(bool host, bool router, unsigned int port)
{
	static const char * const legacy[] = { "iptables-legacy", "ip6tables-legacy" };
	static const char * const names[] = {
		"/proc/net/ip_tables_names", "/proc/net/ip6_tables_names",
	};
	const size_t room = 4 << 20;
	char *out = malloc(room), *copy, s[64];
	struct verdict v = { false, false };
	unsigned int i;
	int status;

	if (!out)
		exit(bc_error(BC_FAIL, "no memory"));
	router &= forwards();
	status = run_command("nft list ruleset 2>&1", out, room);
	if (status && status != 127) {
		found(D_UNKNOWN, "filter", "sudo subrtt doctor",
		      "packet filters cannot be read: %.*s", (int)strcspn(out, "\n"), out);
		free(out);
		return false;
	}
	if (status) {
		found(D_NOTE, "filter", "sudo apt-get install nftables",
		      "nft is not installed, so the rules of packet filters were not checked");
	} else {
		copy = words("%s", out);
		if (host)
			read_nft(out, "input", port, &v);
		if (router)
			read_nft(copy, "forward", port, &v);
		free(copy);
	}
	free(out);
	for (i = 0; i < 2; i++) {
		if (bc_read_file(names[i], s, sizeof(s)) <= 0)
			continue;
		if (host)
			v.blocked |= ipt_blocks(legacy[i], "INPUT", port);
		if (router)
			v.blocked |= ipt_blocks(legacy[i], "FORWARD", port);
	}
	if (!v.blocked && !v.some_only && status != 127)
		found(D_OK, "filter", NULL, "no filter of this machine drops UDP port %u", port);
	return v.some_only;
}
