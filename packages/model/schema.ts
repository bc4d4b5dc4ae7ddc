/** Parts that the JSON Schemas of several nouns share. */
import Type from 'typebox'

/** The schema's values, or null. */
export const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()])
