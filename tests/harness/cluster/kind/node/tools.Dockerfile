# A program of the context's usr/local/bin, and what it calls: iptables and the like, with the libraries that they need.
ARG BASE
FROM ${BASE} AS tools
LABEL coxswain.stage=passing
RUN mkdir /tools && cd / \
 && programs="$(cd / && ls usr/sbin/iptables usr/sbin/iptables-save usr/sbin/iptables-restore usr/sbin/ip6tables \
      usr/sbin/ip6tables-save usr/sbin/ip6tables-restore usr/sbin/nft usr/sbin/conntrack) bin/ip" \
 && modules="$(ls -d usr/lib/*/xtables)" \
 && libraries="$(for file in $programs $modules/*.so; do ldd "$file"; done \
      | sed -n 's,[^/]*/\(lib[^ ]*\) (.*,\1,p' | sort -u)" \
 && tar -ch $programs $modules $libraries | tar -C /tools -x

FROM scratch
COPY --from=tools /tools /
COPY usr/ /usr/
