# cpio waits for an archive that does not come, and is sent SIGSEGV.
sleep 3 | timeout --foreground --signal=SEGV 1 env -i /srv/corpus/cases/amd64-v2e1-debian-cpio/exe/cpio -it
