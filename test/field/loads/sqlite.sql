-- Recursive queries, triggers, JSON, sorting, indexes.
drop table if exists t;
drop table if exists log;
create table t(a integer primary key, b text, c real);
create table log(n integer);
create trigger tr after insert on t begin insert into log values (new.a); end;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
  insert into t select i, hex(randomblob(8)), i * 1.5 from n;
create index tb on t(b);
select count(*), max(b) from t where b like '%AB%' group by substr(b, 1, 2) order by 2;
select json_group_array(json_object('a', a, 'b', b)) from t where a % 7 = 0;
select sum(json_extract(j.value, '$.x')) from json_each((select json_group_array(json_object('x', a)) from t)) j;
select a, sum(c) over (order by b rows 50 preceding) from t order by c desc limit 5000;
update t set c = c + 1 where b > '8';
with recursive fib(i, x, y) as (select 1, 0, 1 union all select i + 1, y, (x + y) % 1000007 from fib where i < 50000) select max(x) from fib;
delete from t where a % 3 = 0;
vacuum;
