'use strict';
// Node loads a provider's lib/lazy-index.js, which requires a resource when it is asked for, in place of
// lib/index.js, which requires all of them. See _lazy_providers.py.
const fs = require('fs');
const Module = require('module');
const path = require('path');

const MAIN = path.join('lib', 'index.js');
const PROVIDER = /^@(cdktf|cdktn)\/provider-/;

const eager = process.env.EKS_HARDWARE_EAGER_PROVIDERS || '0';
const resolve = Module._resolveFilename;
if (eager === '0' && typeof resolve === 'function') {
  Module._resolveFilename = function resolveFilename(...args) {
    const file = resolve.apply(this, args);
    return typeof file === 'string' && file.endsWith(path.sep + MAIN) ? lazy(file) : file;
  };
}

function lazy(file) {
  const other = path.join(path.dirname(file), 'lazy-index.js');
  try {
    const manifest = fs.readFileSync(path.join(path.dirname(file), '..', 'package.json'), 'utf8');
    return PROVIDER.test(JSON.parse(manifest).name) && fs.existsSync(other) ? other : file;
  } catch {
    return file;
  }
}
