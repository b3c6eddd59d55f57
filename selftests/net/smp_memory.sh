#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What tcp_bolt allocates for a connection is charged to the memory control group of its socket, at
# both ends.  This includes the child of a listener, which softirq creates before any process has
# accepted it, so that no container escapes its limit by connecting.

. "$(dirname "$0")/lib.sh"

N=200

# slab CC: bytes of slab that N connections of a process to itself take, both ends
slab() {
	in_ns "$H1" python3 - "$1" "$N" "$tmp/cgroup/bolt-test-$1" <<-'EOF'
		import os, socket, sys, time
		cc, n, group = sys.argv[1].encode(), int(sys.argv[2]), sys.argv[3]
		with open(f"{group}/cgroup.procs", "w") as f:
		    f.write(str(os.getpid()))

		def slab():
		    # the kernel adds up every two seconds
		    time.sleep(3)
		    with open(f"{group}/memory.stat") as f:
		        return int(dict(line.split() for line in f)["slab"])

		listener = socket.socket()
		listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc)
		listener.bind(("127.0.0.1", 0))
		listener.listen(n)
		socks, before = [], slab()
		for _ in range(n):
		    socks.append(socket.socket())
		    socks[-1].setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc)
		    socks[-1].connect(listener.getsockname())
		print(slab() - before)
	EOF
}

test_charged() {
	local bolt reno cc
	setup_ns H1
	ip -n "$H1" link set lo up
	mkdir "$tmp/cgroup"
	mount -t cgroup2 none "$tmp/cgroup" || fail "no cgroup2"
	defer umount "$tmp/cgroup"
	echo +memory >"$tmp/cgroup/cgroup.subtree_control" || fail "no memory controller"
	for cc in reno bolt; do
		mkdir "$tmp/cgroup/bolt-test-$cc"
		defer rmdir "$tmp/cgroup/bolt-test-$cc"
	done
	reno=$(slab reno)
	bolt=$(slab bolt)
	expect_ge "connections of bolt" "$(bolt_stat "$H1" Negotiated)" $((2 * N))
	expect_ge "reno" "$reno" 1
	say "$N connections: reno $reno bytes, bolt $bolt"
	# an object takes 2 KB: of one end alone, it would be 1 KB each
	expect_ge "bytes of each end" $(((bolt - reno) / (2 * N))) 1536
}

run_tests charged
