#!/usr/bin/env bash
expected=100
got=$(bash totals.sh items.csv)
if [ "$got" != "$expected" ]; then
  echo "FAILED: expected $expected, got $got"
  exit 1
fi
echo "ok: the total is $got"
