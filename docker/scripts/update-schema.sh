#!/bin/sh
# Makes Temporal's two databases where they are missing and brings their schema up to date. Safe to run again.
# How to connect is in SQL_PLUGIN, SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD, which temporal-sql-tool reads itself.
set -eu

schemas=/etc/temporal/schema/postgresql/v12
for database in temporal temporal_visibility; do
  case $database in
    temporal) versions=$schemas/temporal/versioned ;;
    *) versions=$schemas/visibility/versioned ;;
  esac
  temporal-sql-tool --db "$database" create
  temporal-sql-tool --db "$database" setup-schema -v 0.0
  temporal-sql-tool --db "$database" update-schema -d "$versions"
done
