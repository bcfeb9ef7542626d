# make -j4: each job runs a program, and prints in the order that its prerequisites give.
all: last
	@echo all
last: a b c d
	@$(OTHER) && echo last
a b c d:
	@$(PROGRAM) >/dev/null && $(OTHER) >/dev/null
.PHONY: all last a b c d
