# Stops the program in the PLT entry of lib_entry, after its push (0x68), and writes a core.
break call_it
run
while *(unsigned char *)$pc != 0x68
  stepi
end
stepi
gcore core
kill
