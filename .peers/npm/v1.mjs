// What the TypeScript SDK's first client needs.

import * as types from '@modelcontextprotocol/sdk/types.js';

// This client goes by schemas where the protocol goes by names.
const schemas = new Map(Object.values(types).filter((schema) => schema?.shape?.method).map((schema) => [schema.shape.method.value ?? schema.shape.method.def?.values?.[0], schema]));

export function schema(method) {
  if (!schemas.has(method)) throw new Error(`the SDK has no schema for ${method}`);
  return schemas.get(method);
}
