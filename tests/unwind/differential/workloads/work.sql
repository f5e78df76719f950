-- Inserts, indexes, joins, windows, recursion, text and JSON functions.
create table customer (id integer primary key, name text, city text);
create table purchase (id integer primary key, customer integer, amount real, note text);
insert into customer
    with recursive n (i) as (select 1 union all select i + 1 from n where i < 20000)
    select i, 'name' || (i * 7919 % 20011), 'city' || (i % 97) from n;
begin;
insert into purchase
    with recursive n (i) as (select 1 union all select i + 1 from n where i < 200000)
    select i, i * 31 % 20000 + 1, i * 17 % 1000 / 10.0, hex(randomblob(8)) from n;
commit;
create index purchase_customer on purchase (customer);
create index customer_city on customer (city, name);
create table report as
    select city, count(*) as n, sum(amount) as total, group_concat(distinct substr(note, 1, 2)) as notes
    from customer join purchase on purchase.customer = customer.id group by city order by total desc;
select count(*) from (
    select id, row_number() over (partition by customer order by amount desc) as place,
           sum(amount) over (partition by customer order by id rows 5 preceding) as running
    from purchase) where place = 1;
select count(*) from purchase where note like '%AB%' or upper(note) glob '*[0-3]F*';
select length(json_group_array(json_object('id', id, 'note', note))) from purchase where id < 20000;
update purchase set amount = amount * 1.1 where customer % 7 = 0;
delete from purchase where id % 13 = 0;
select count(*) from customer a join customer b on a.city = b.city and a.name < b.name;
