/** Replaces methods of an object. All others run on the object itself, which may have private fields. */
export function withMethods(object: object, methods: Readonly<Record<string, unknown>>): object {
  return new Proxy(object, {
    get: (target, key) => {
      if (typeof key === 'string' && Object.hasOwn(methods, key)) return methods[key]
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
