# SPDX-License-Identifier: GPL-2.0
# Entry points for people; `make help` lists them.

KDIR	?= /lib/modules/$(shell uname -r)/build
ARCH_ARG = $(if $(ARCH),ARCH=$(ARCH))
O	= build
include tools/outdir.mk
# Where modules for KDIR are built: one directory per kernel serves many kernels from one tree
MOD	= $(O)/modules
# Lab-only and test-only modules: m builds them as well
LAB	?= $(if $(filter um,$(ARCH)),m,n)
KUNIT	?= $(if $(filter um,$(ARCH)),m,n)
W	?=
C	?=

# O= means something else to the kernel's own Makefile
MAKEOVERRIDES := $(filter-out O=%,$(MAKEOVERRIDES))
KBUILD	= $(MAKE) -C $(KDIR) M=$(MOD) $(ARCH_ARG) CONFIG_BOLT_LAB=$(LAB) CONFIG_BOLT_KUNIT=$(KUNIT) \
	  $(if $(W),W=$(W)) $(if $(C),C=$(C))

# A directory that was not there before is ours to remove
$(O):
	@mkdir -p $@
	@touch $@/.subrtt-build

# $(call ours,DIR): or nothing is removed
ours	= [ ! -e $(1) ] || [ $(O) = $(CURDIR)/build ] || [ -e $(O)/.subrtt-build ] || [ -e $(1)/.subrtt-build ] || \
	  { echo "make: $(1): was there before, so it is not removed" >&2; exit 1; }

all: modules tools ## build the modules for KDIR and the tools

# kbuild writes beside the sources, so give it a directory of links to them
farm: | $(O)
	@mkdir -p $(MOD)/tools/lab $(MOD)/selftests
	@cp -asf --no-preserve=mode $(addprefix $(CURDIR)/,Kbuild dkms.conf include tcp_bolt sch_sfc) $(MOD)/
	@$(if $(filter m,$(LAB)),cp -asf --no-preserve=mode $(CURDIR)/tools/lab/link $(MOD)/tools/lab/)
	@$(if $(filter m,$(KUNIT)),cp -asf --no-preserve=mode $(CURDIR)/selftests/kunit $(MOD)/selftests/)
	@# links to files of this tree that have gone
	@find $(MOD) -lname '$(CURDIR)/*' -xtype l -delete

modules: farm ## build bolt_ctl.ko, tcp_bolt.ko and sch_sfc.ko into O/modules (O=, KDIR=, ARCH=, W=1, C=1)
	@test -e $(KDIR)/Makefile || { echo "make: no kernel build directory at $(KDIR): install linux-headers, or give KDIR=" >&2; exit 1; }
	+$(KBUILD) modules

tools: | $(O) ## build the tc plugin, subrtt and the lab's programs into O/tools
	$(MAKE) -C tools O=$(O)/tools

# All that the lab needs: subrtt wants libraries that it does without
lab-tools: | $(O)
	$(MAKE) -C tools O=$(O)/tools lab

# as its modules' directory is called
KREL	= $(if $(filter /lib/modules/%/build,$(KDIR)),$(patsubst /lib/modules/%/build,%,$(KDIR)),$(shell cat $(KDIR)/include/config/kernel.release))

# a package's build (DESTDIR) leaves depmod to where the package is installed
install: modules tools ## install modules for KDIR, the tc plugin, subrtt and manual pages (DESTDIR=)
	+$(KBUILD) $(if $(DESTDIR),INSTALL_MOD_PATH=$(abspath $(DESTDIR)) DEPMOD=true) modules_install
	$(MAKE) -C tools O=$(O)/tools $(if $(DESTDIR),DESTDIR=$(abspath $(DESTDIR))) install
	$(if $(DESTDIR),,depmod $(KREL))

# where modules_install puts what is not the kernel's own, perhaps compressed: Linux 6.1 in extra
UPDATES	= $(addprefix $(if $(DESTDIR),$(abspath $(DESTDIR)))/lib/modules/$(KREL)/,$(or $(INSTALL_MOD_DIR),updates extra))

uninstall: ## remove what install has installed with the same KDIR, PREFIX and DESTDIR
	$(MAKE) -C tools O=$(O)/tools $(if $(DESTDIR),DESTDIR=$(abspath $(DESTDIR))) uninstall
	rm -f $(foreach m,tcp_bolt/bolt_ctl tcp_bolt/tcp_bolt sch_sfc/sch_sfc,$(foreach z,ko ko.gz ko.xz ko.zst,$(addsuffix /$(m).$(z),$(UPDATES))))
	rmdir $(addsuffix /tcp_bolt,$(UPDATES)) $(addsuffix /sch_sfc,$(UPDATES)) 2>/dev/null || :
	$(if $(DESTDIR),,depmod $(KREL))

packages: | $(O) ## build the Debian packages subrtt-dkms, subrtt-tools and subrtt-lab into O/packages
	tools/packages $(O)

demo: ## install missing packages, build, and run flow-join and incast with cubic, dctcp and bolt
	tools/lab/demo

check: ## run the gate, about ten minutes; ends with "N passed, N failed, N skipped"
	@command -v python3 >/dev/null || tools/lab/install-deps --for check || : # the next line installs the rest
	selftests/check

check-kernels: | $(O) ## build the modules with W=1 for Debian's 6.1, 6.12, 7.2 and 7.3, or for KDIR=; a warning fails
	@BOLT_CHECK_OUT=$(O)/check-kernels selftests/groups/build \
		$(if $(filter-out file default,$(origin KDIR)),$(KDIR),kernels)

check-long: ## every test there is, in hours; resumes (selftests/check --long GROUP... for some)
	@command -v python3 >/dev/null || tools/lab/install-deps --for long || :
	selftests/check --long

fuzz: | $(O) ## run libFuzzer on the headers that parse and decide (FUZZ_SECONDS= for each target)
	+@$(MAKE) -s -C selftests/fuzz O=$(O)/fuzz $(if $(FUZZ_SECONDS),FUZZ_SECONDS=$(FUZZ_SECONDS)) run

bench: ## measure the instructions of a packet, and the speed of the lab and subrtt
	selftests/bench/run
	selftests/bench/lab
	selftests/bench/subrtt

model: | $(O) ## build the model of the sender's law into O/tools (Documentation/model.rst)
	$(MAKE) -C tools O=$(O)/tools model

figures: | $(O) ## the papers' figures from the real stack into O/figures (FIG="bolt-10 sfc-1" or all; Documentation/figures.rst)
	tools/figures/make --out $(O)/figures $(FIG)

# manual pages as they are installed, beside the pages of the site
site: | $(O) ## build the documentation as HTML: O/site/index.html, O/subrtt-site.tar.gz
	@command -v sphinx-build >/dev/null && command -v mandoc >/dev/null || { echo "make: install the packages python3-sphinx, furo and mandoc" >&2; exit 1; }
	@$(call ours,$(O)/site)
	rm -rf $(O)/site
	@mkdir -p $(O)/site
	@touch $(O)/site/.subrtt-build
	sphinx-build -q -n -W --keep-going -d $(O)/site-cache Documentation $(O)/site
	@mkdir -p $(O)/site/man
	@for page in Documentation/man/*.[178] tools/subrtt/subrtt.8; do \
		mandoc -T html $$page >$(O)/site/man/$${page##*/}.html || exit 1; done
	tar -C $(O) --exclude=.subrtt-build --sort=name -czf $(O)/subrtt-site.tar.gz site

clean: ## remove what was built
	@$(call ours,$(O))
	rm -rf $(O)

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

.PHONY: all farm modules tools lab-tools install uninstall packages demo check check-kernels check-long fuzz bench model figures site clean help
