#!/usr/bin/env bash
# Makes echarts.min.js from the packages of npm; needs node and npm. The same versions give the same bytes.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cp "$here/entry.mjs" "$work"
cd "$work"
npm install --no-save --ignore-scripts echarts@6.0.0 zrender@6.0.0 tslib@2.3.0 esbuild@0.28.2
banner='/*! Apache ECharts 6.0.0 (Apache License 2.0, https://www.apache.org/licenses/LICENSE-2.0), with zrender 6.0.0 (BSD-3-Clause) and tslib 2.3.0 (0BSD). Copyright 2017-2025 The Apache Software Foundation. This product includes software developed at The Apache Software Foundation (https://www.apache.org/). */'
npx esbuild entry.mjs --bundle --minify --charset=utf8 --format=iife --global-name=echarts --target=es2020 \
  --legal-comments=none --banner:js="$banner" --outfile="$here/echarts.min.js"
cp node_modules/echarts/LICENSE "$here/LICENSE-echarts"
cp node_modules/echarts/NOTICE "$here/NOTICE-echarts"
cp node_modules/echarts/licenses/LICENSE-d3 "$here/LICENSE-d3"
cp node_modules/zrender/LICENSE "$here/LICENSE-zrender"
cp node_modules/tslib/LICENSE.txt "$here/LICENSE-tslib"
sha256sum "$here/echarts.min.js"
