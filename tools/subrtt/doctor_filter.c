// SPDX-License-Identifier: GPL-2.0
/*
 * Would a packet filter drop control messages?  What is sent to oneself goes by loopback, which
 * filters let pass; so the rules are read, as text, for what is written most often:
 *
 *   - a rule in a base chain that drops or rejects the port;
 *   - a base chain that drops what it does not know (its policy, or its last rule), in a table
 *     where no rule accepts the port.
 *
 * A rule that accepts by address or device alone is not understood.
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

/* The rule's destination port is ours: "udp dport 12311", "th dport { 53, 12311 }" */
static bool names_port(const char *rule, unsigned int port)
{
	const char *at = strstr(rule, "dport ");
	char match[256];
	size_t n;

	if (!at)
		return false;
	at += strlen("dport ");
	while (*at == ' ')
		at++;
	if (!strncmp(at, "!=", 2))
		return false;
	n = *at == '{' ? strcspn(at, "}") : strcspn(at, " ");
	snprintf(match, sizeof(match), "%.*s", (int)n, at);
	return has_port(match, port) && !strstr(rule, "tcp dport");
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
	bool ours;		/* a base chain at the hook */
	bool drops;		/* by policy or at its end */
	bool drops_port;
	bool accepts_port;	/* in the table, by any chain */
};

static void conclude(const struct chain *c, unsigned int port, bool *blocked)
{
	if (!c->ours || (!c->drops_port && (!c->drops || c->accepts_port)))
		return;
	*blocked = true;
	found(D_FIX, "filter",
	      words("sudo nft insert rule %s %s udp dport %u accept", c->table, c->name, port),
	      c->drops_port ?
	      "chain %s of table %s drops UDP port %u, so control messages do not arrive" :
	      "chain %s of table %s drops what no rule accepts, and no rule of the table accepts UDP port %u",
	      c->name, c->table, port);
}

/* A table may have several chains at the hook; what is accepted in one table another may drop. */
static bool nft_blocks(char *rules, const char *hook, unsigned int port)
{
	struct chain chains[64] = { 0 };
	char table[128] = "", want[32], *line, *next;
	struct chain *c = NULL;
	unsigned int n = 0, i, first = 0;
	bool blocked = false;

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
			c = NULL;
		} else if (!strncmp(line, "chain ", 6) && n < 64) {
			c = &chains[n++];
			snprintf(c->table, sizeof(c->table), "%s", table);
			snprintf(c->name, sizeof(c->name), "%.*s", (int)strcspn(line + 6, " "),
				 line + 6);
			/* what an earlier chain of the table accepts */
			c->accepts_port = n - 1 > first && chains[first].accepts_port;
		} else if (*line == '}') {
			c = NULL;
		} else if (c && strstr(line, " hook ")) {
			c->ours = strstr(line, "type filter") && strstr(line, want);
			c->drops = strstr(line, "policy drop");
		} else if (c && names_port(line, port)) {
			if (word_in(line, "accept")) {
				for (i = first; i < n; i++)
					chains[i].accepts_port = true;
			} else if (stops(line) && !c->accepts_port) {
				c->drops_port = true;
			}
		} else if (c && *line) {
			/* the last rule counts: what stands before it is for somebody else */
			if (!strncmp(line, "drop", 4) || !strncmp(line, "reject", 6) ||
			    (!strncmp(line, "counter", 7) && stops(line)))
				c->drops = true;
		}
	}
	for (i = 0; i < n; i++)
		conclude(&chains[i], port, &blocked);
	return blocked;
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

void doctor_filter(bool host, bool router, unsigned int port)
{
	static const char * const legacy[] = { "iptables-legacy", "ip6tables-legacy" };
	static const char * const names[] = {
		"/proc/net/ip_tables_names", "/proc/net/ip6_tables_names",
	};
	const size_t room = 4 << 20;
	char *out = malloc(room), *copy, s[64];
	unsigned long long forward = 0;
	bool blocked = false;
	unsigned int i;
	int status;

	if (!out)
		exit(bc_error(BC_FAIL, "no memory"));
	sysctl_read("net/ipv4/ip_forward", &forward);
	router &= forward;
	status = run_command("nft list ruleset 2>&1", out, room);
	if (status && status != 127) {
		found(D_UNKNOWN, "filter", "sudo subrtt doctor",
		      "packet filters cannot be read: %.*s", (int)strcspn(out, "\n"), out);
		free(out);
		return;
	}
	if (status) {
		found(D_NOTE, "filter", "sudo apt-get install nftables",
		      "nft is not installed, so the rules of packet filters were not checked");
	} else {
		copy = words("%s", out);
		if (host)
			blocked |= nft_blocks(out, "input", port);
		if (router)
			blocked |= nft_blocks(copy, "forward", port);
		free(copy);
	}
	free(out);
	for (i = 0; i < 2; i++) {
		if (bc_read_file(names[i], s, sizeof(s)) <= 0)
			continue;
		if (host)
			blocked |= ipt_blocks(legacy[i], "INPUT", port);
		if (router)
			blocked |= ipt_blocks(legacy[i], "FORWARD", port);
	}
	if (!blocked && status != 127)
		found(D_OK, "filter", NULL, "no filter of this machine drops UDP port %u", port);
}
