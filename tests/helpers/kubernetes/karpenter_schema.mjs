// Reads a JSON array of objects, and writes a JSON array of {index, path, keyword, message} for their mistakes.
//
// The validators ignore unknown fields. Each object is therefore passed in a proxy that records which fields a validator
// reads: it reads every field that it knows, and no others.
import { readFileSync } from "node:fs";
import { EC2NodeClass } from "@kubernetes-models/karpenter/karpenter.k8s.aws/v1/EC2NodeClass";
import { NodePool } from "@kubernetes-models/karpenter/karpenter.sh/v1/NodePool";
import { NodeOverlay } from "@kubernetes-models/karpenter/karpenter.sh/v1alpha1/NodeOverlay";

const models = new Map([EC2NodeClass, NodePool, NodeOverlay].map((model) => [`${model.apiVersion} ${model.kind}`, model]));

const isObject = (value) => typeof value === "object" && value !== null;

const own = (value, key) => typeof key === "string" && Object.hasOwn(value, key);

function watched(value, seen) {
  if (!isObject(value)) return value;
  if (!seen.has(value)) {
    const asked = new Set();
    const handler = {
      get(target, key) {
        if (typeof key === "string") asked.add(key);
        return own(target, key) || Array.isArray(target) ? watched(target[key], seen) : undefined;
      },
    };
    seen.set(value, { asked, proxy: new Proxy(value, handler) });
  }
  return seen.get(value).proxy;
}

// Fields that the validator did not read; it cannot have read anything below them.
function* unknown(value, seen, path) {
  const asked = seen.get(value)?.asked ?? new Set();
  if (asked.size === 0) return; // not checked at all: any content is allowed here, or the type is wrong
  for (const [key, item] of Object.entries(value)) {
    const place = `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (!asked.has(key)) yield place;
    else if (isObject(item)) yield* unknown(item, seen, place);
  }
}

function* check(object, index) {
  const model = models.get(`${object?.apiVersion} ${object?.kind}`);
  if (model === undefined) {
    yield { index, path: "", keyword: "kind", message: `no validator for ${object?.apiVersion} ${object?.kind}` };
    return;
  }
  const seen = new Map();
  try {
    model.prototype.validate.call(watched(object, seen));
  } catch (error) {
    if (!Array.isArray(error.errors)) throw error;
    for (const { instancePath, keyword, params, message } of error.errors) {
      const details = message === undefined ? JSON.stringify(params) : `${message} ${JSON.stringify(params)}`;
      yield { index, path: instancePath, keyword, message: details };
    }
  }
  for (const path of unknown(object, seen, "")) {
    yield { index, path, keyword: "unknown", message: "unknown field" };
  }
}

const objects = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(objects.flatMap((object, index) => [...check(object, index)])));
