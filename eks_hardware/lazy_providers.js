'use strict';
// Makes Node load a provider's lib/lazy-index.js, which requires resources on first use, instead of lib/index.js,
// which requires all of them. Node also does not stop before jsii's index of a provider is written.
// See _lazy_providers.py.
const fs = require('fs');
const Module = require('module');
const path = require('path');

const MAIN = path.join('lib', 'index.js');
const PROVIDER = /^@(cdktf|cdktn)\/provider-/;
const INDEX_WORKER = 'runtime-index-worker.js';
const INDEX_MANIFEST = /^\.jsii\.runtime\.v\d+\.json$/; // the last file to be written
const LONGEST_WAIT_MS = 4500; // Python's jsii ends Node after 5 s

const eager = process.env.EKS_HARDWARE_EAGER_PROVIDERS || '0';
if (eager === '0') {
  loadLazily();
  finishIndexes();
}

function loadLazily() {
  const resolve = Module._resolveFilename;
  if (typeof resolve !== 'function') return;
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

// The worker that writes an index keeps Node running, but jsii ends Node with process.exit().
function finishIndexes() {
  const threads = require('worker_threads');
  if (!threads.isMainThread || typeof threads.Worker !== 'function') return;
  const unfinished = new Set();
  threads.Worker = class extends threads.Worker {
    constructor(file, options) {
      super(file, options);
      const folder = path.basename(String(file)) === INDEX_WORKER && options?.workerData?.packageDir;
      if (!folder) return;
      unfinished.add(folder);
      this.on('exit', () => unfinished.delete(folder));
      this.on('error', () => unfinished.delete(folder));
    }
  };
  process.on('exit', () => {
    const end = Date.now() + LONGEST_WAIT_MS;
    for (const folder of unfinished) {
      while (Date.now() < end && !isIndexed(folder)) sleep(20);
    }
  });
}

function isIndexed(folder) {
  try {
    return fs.readdirSync(folder).some((name) => INDEX_MANIFEST.test(name));
  } catch {
    return true; // nothing to wait for
  }
}

function sleep(milliseconds) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
