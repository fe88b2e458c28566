# One connection that sets, gets and counts.
exec 3<>/dev/tcp/127.0.0.1/7777 || exit
cat <&3 >/dev/null &
for ((i = 0; i < 3000; i++)); do
	value=$(printf "%0$((RANDOM % 900 + 1))d" "$i")
	printf 'set k%d 0 60 %d\r\n%s\r\nget k%d k%d k%d\r\nincr k%d 1\r\nstats\r\n' \
		$((RANDOM % 500)) ${#value} "$value" $((RANDOM % 500)) $((RANDOM % 500)) $((RANDOM % 500)) $((RANDOM % 500))
done >&3
printf 'quit\r\n' >&3
wait
