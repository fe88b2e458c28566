with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
  select sum(i), string_agg(i::text, ',' order by -i) from n where i::text ~ '[0-9]+[13579]$';
select bid, count(*), percentile_cont(0.5) within group (order by abalance) from pgbench_accounts where aid % 7 = 1 group by bid;
select jsonb_agg(to_jsonb(a)) from (select * from pgbench_accounts where aid < 300) a;
