"""Default Quorate beside scikit-learn's clusterers on labelled data: how good are the answers?"""
