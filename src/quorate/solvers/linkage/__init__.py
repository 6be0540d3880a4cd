"""Building blocks of methods that agglomerate: co-association, trees and what is read from them."""
