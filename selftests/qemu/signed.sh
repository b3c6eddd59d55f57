#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A kernel that loads signed modules only, be it lockdown's doing, as with Secure Boot, or
# module.sig_enforce's: it refuses those of dkms, whose key no firmware here knows, and subrtt
# doctor says why and what to do.  No way leads back: to be run last in its boot.

. ../net/lib.sh
. ../net/lib_subrtt.sh

key=/var/lib/dkms/mok.key certificate=/var/lib/dkms/mok.pub
# Debian's package is not there yet
enroll="sudo apt-get install mokutil && sudo mokutil --import $certificate && sudo reboot"

signed_by() {
	modinfo -F "$1" tcp_bolt
}

# By dkms, with the key whose certificate the command names
test_signed() {
	expect_eq "as PKCS#7" "$(signed_by sig_id)" "PKCS#7"
	expect_eq "by the key of mok.pub" "$(signed_by sig_key | tr -d ':\n\t ')" \
		"$(openssl x509 -inform DER -in "$certificate" -noout -serial | sed 's/.*=//')"
	doctor host
	finds signing ok '^modules need no signature'
}

# is_refused WHY WORDS LOG: before and after modprobe has tried
is_refused() {
	dmesg -C
	doctor host
	finds signing note "^$1: tcp_bolt is signed; if loading fails with \"Key was rejected\""
	only module
	expect_fail "modprobe tcp_bolt" "$2" modprobe tcp_bolt
	expect "the kernel's log: $3" busywait in_log "$3"
	doctor host
	finds signing fix "^$1: .* tcp_bolt's key is not enrolled$"
	only module signing
	expect_eq "to fix" "$(how signing)" "$enroll"
}

in_log() {
	dmesg | grep -q "$1"
}

# What install.rst has for modules that dkms has not built: a signature is good, and its key unknown
unsigned() {
	local file files installed
	# subrtt/0.2, 6.1.0-56-amd64, x86_64: installed
	installed=$(dkms status -k "$(uname -r)" 2>/dev/null)
	# tcp_bolt wants bolt_ctl, which modprobe loads first
	files=$(modinfo -n tcp_bolt bolt_ctl)
	for file in $files; do
		expect "strip ${file##*/}" strip -g "$file"
	done
	expect_none "stripped" "$(signed_by sig_id)"
	dmesg -C
	expect_fail "modprobe tcp_bolt" "$2" modprobe tcp_bolt
	expect "the kernel's log: $3" busywait in_log "$3"
	doctor host
	finds signing fix "^$1: tcp_bolt is not signed and will not be loaded$"
	expect_eq "to fix" "$(how signing)" \
		"sudo dkms build --force ${installed%%,*} && sudo dkms install --force ${installed%%,*} && $enroll"
	for file in $files; do
		expect "sign-file ${file##*/}" "/lib/modules/$(uname -r)/build/scripts/sign-file" sha256 "$key" \
			"$certificate" "$file"
	done
	expect_eq "signed again" "$(signed_by sig_id)" "PKCS#7"
}

test_lockdown() {
	local why="kernel lockdown is on" log="Lockdown: modprobe: unsigned module loading is restricted"
	mount -t securityfs none /sys/kernel/security
	defer umount /sys/kernel/security
	echo integrity >/sys/kernel/security/lockdown
	is_refused "$why" 'Operation not permitted|Key was rejected by service' "$log"
	unsigned "$why" 'Operation not permitted|Key was rejected by service' "$log"
}

# ... and where lockdown is not seen
test_sig_enforce() {
	local why="module.sig_enforce is on"
	echo Y >/sys/module/module/parameters/sig_enforce
	is_refused "$why" 'Key was rejected by service' "Loading of module with unavailable key is rejected"
	unsigned "$why" 'Key was rejected by service' "Loading of unsigned module is rejected"
}

run_tests signed lockdown sig_enforce
