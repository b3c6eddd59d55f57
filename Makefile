# SPDX-License-Identifier: GPL-2.0
# Entry points for people; `make help` lists them.

KDIR	?= /lib/modules/$(shell uname -r)/build
ARCH_ARG = $(if $(ARCH),ARCH=$(ARCH))
O	?= $(CURDIR)/build
# Where modules for KDIR are built: one directory per kernel serves many kernels from one tree
MOD	= $(O)/modules
# Lab-only and test-only modules: m builds them as well
LAB	?= $(if $(filter um,$(ARCH)),m,n)
KUNIT	?= $(if $(filter um,$(ARCH)),m,n)
W	?=
C	?=

# O= means something else to the kernel's own Makefile
KBUILD	= $(MAKE) -C $(KDIR) O= M=$(MOD) $(ARCH_ARG) CONFIG_BOLT_LAB=$(LAB) CONFIG_BOLT_KUNIT=$(KUNIT) \
	  $(if $(W),W=$(W)) $(if $(C),C=$(C))

all: modules tools ## build the modules for KDIR and the tools

# kbuild writes beside the sources, so give it a directory of links to them
farm:
	@mkdir -p $(MOD)/tools/lab $(MOD)/selftests
	@cp -asf $(CURDIR)/Kbuild $(CURDIR)/include $(CURDIR)/tcp_bolt $(CURDIR)/sch_sfc $(MOD)/
	@$(if $(filter m,$(LAB)),cp -asf $(CURDIR)/tools/lab/link $(MOD)/tools/lab/)
	@$(if $(filter m,$(KUNIT)),cp -asf $(CURDIR)/selftests/kunit $(MOD)/selftests/)
	@# links whose file has gone
	@find $(MOD) -xtype l -delete

modules: farm ## build tcp_bolt.ko, tcp_swift.ko and sch_sfc.ko into O/modules (O=, KDIR=, ARCH=, W=1, C=1)
	@test -e $(KDIR)/Makefile || { echo "make: no kernel build directory at $(KDIR): install linux-headers, or give KDIR=" >&2; exit 1; }
	$(KBUILD) modules

tools: ## build the tc plugin, boltctl and the lab's programs into O/tools
	$(MAKE) -C tools O=$(O)/tools

# All that the lab needs: boltctl wants libraries that it does without
lab-tools:
	$(MAKE) -C tools O=$(O)/tools lab

install: modules tools ## install modules, the tc plugin, boltctl and manual pages on this machine
	$(KBUILD) modules_install
	$(MAKE) -C tools O=$(O)/tools install
	depmod -a

packages: ## the Debian packages bolt-dkms and bolt-tools into O/packages
	tools/packages $(O)

demo: ## install what is missing, build, and show flow-join and incast for cubic, dctcp, bolt
	tools/lab/demo

check: ## every test; ends with "N passed, N failed, N skipped"
	selftests/check

bench: ## what a packet costs, in instructions, how fast the lab and boltctl are
	selftests/bench/run
	selftests/bench/lab
	selftests/bench/boltctl

clean: ## remove what was built
	rm -rf $(O)

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

.PHONY: all farm modules tools lab-tools install packages demo check bench clean help
