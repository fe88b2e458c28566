target triple = "x86_64-pc-linux-gnu"
@g = global i32 0
define i32 @inner(i32 %x) #0 {
  %c = icmp eq i32 %x, 0
  br i1 %c, label %a, label %b
a:
  %v = load volatile i32, i32* @g
  store volatile i32 %v, i32* @g
  br label %a
b:
  %y = sub i32 %x, 1
  %r = call i32 @inner(i32 %y)
  %s = add i32 %r, %x
  ret i32 %s
}
define i32 @main() #0 {
  %r = call i32 @inner(i32 3)
  ret i32 %r
}
attributes #0 = { noinline uwtable }
