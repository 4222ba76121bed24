// A GraphQL API over a few airports. It answers errors with status 200, as GraphQL servers do.
import { createServer } from 'node:http';
import { GraphQLError } from 'graphql';
import { createSchema, createYoga } from 'graphql-yoga';

const airports = {
  AKL: { name: 'Auckland Airport', location: { lat: -37.004786, lon: 174.783524 } },
  AMS: { name: 'Amsterdam Airport Schiphol', location: { lat: 52.309069, lon: 4.763385 } },
};

const typeDefs = `
  type Location { lat: Float! lon: Float! }
  type Airport { name: String! location: Location! }
  type Query { airport(iata: String!): Airport }
`;

const resolvers = {
  Query: {
    airport(_, { iata }) {
      if (airports[iata]) return airports[iata];
      throw new GraphQLError(`no airport is called ${iata}`);
    },
  },
};

const port = Number(process.argv[2] ?? 4011);
const server = createServer(createYoga({ schema: createSchema({ typeDefs, resolvers }), logging: false }));
server.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
